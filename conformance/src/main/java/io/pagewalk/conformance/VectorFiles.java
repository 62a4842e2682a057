package io.pagewalk.conformance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Finds files of vectors. */
public final class VectorFiles {
    private static final List<String> SHIPPED = List.of(
            "swiotlb",
            "direct",
            "masks",
            "edu",
            "iova",
            "iommu_map_sg",
            "iommu_live",
            "iommu_untrusted",
            "iommu_fq",
            "iommu_api",
            "sg_alloc_append",
            "umem",
            "rdma-rxe",
            "cost");

    private VectorFiles() {}

    /**
     * The vectors that come with the project.
     *
     * @return the files, in the order in which they are replayed
     */
    public static List<VectorFile> shipped() {
        return SHIPPED.stream().map(n -> VectorFile.shipped(n + ".jsonl.gz")).toList();
    }

    /**
     * The files that a user named.
     *
     * @param paths files, or directories whose {@code *.jsonl} and {@code *.jsonl.gz} are meant
     * @return the files; those of a directory by name
     * @throws UnusableVectorsException when a path does not exist, or a directory holds no vectors
     */
    public static List<VectorFile> at(List<Path> paths) throws UnusableVectorsException {
        List<VectorFile> files = new ArrayList<>();
        for (Path path : paths) {
            if (Files.isDirectory(path)) {
                files.addAll(in(path));
            } else if (Files.exists(path)) {
                files.add(VectorFile.of(path));
            } else {
                throw new UnusableVectorsException(path.toString(), "no such file or directory");
            }
        }
        return files;
    }

    private static List<VectorFile> in(Path folder) throws UnusableVectorsException {
        List<Path> found;
        try (Stream<Path> children = Files.list(folder)) {
            found = children.filter(VectorFiles::isNamedLikeVectors).sorted().toList();
        } catch (IOException failed) {
            throw new UnusableVectorsException(folder.toString(), "cannot be listed: " + failed.getMessage(), failed);
        }
        if (found.isEmpty()) {
            throw new UnusableVectorsException(folder.toString(), "has no *.jsonl or *.jsonl.gz in it");
        }
        return found.stream().map(VectorFile::of).toList();
    }

    private static boolean isNamedLikeVectors(Path path) {
        String name = path.toString();
        return (name.endsWith(".jsonl") || name.endsWith(".jsonl.gz")) && !Files.isDirectory(path);
    }
}
